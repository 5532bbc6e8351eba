"""`python -m mspt.cli`."""

from mspt.cli.app import main

if __name__ == "__main__":
    main()
