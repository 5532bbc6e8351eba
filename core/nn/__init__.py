"""The network, its training and its checkpoints, on MindSpore."""
