-- Changed settings, and workers that have registered; executions that wait, if somebody sleeps.
listen postrider;
listen "postrider:executions";
