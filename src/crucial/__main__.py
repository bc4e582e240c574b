"""``python -m crucial``."""

from crucial.cli import main

if __name__ == "__main__":
    main()
