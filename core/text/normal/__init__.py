"""One way of writing: characters, blanks, marks, line ends, escapes, scripts."""
