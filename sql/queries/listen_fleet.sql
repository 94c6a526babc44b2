-- Changed settings, and workers that have registered.
listen postrider;
