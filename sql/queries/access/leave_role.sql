select set_config('role', 'none', true);
