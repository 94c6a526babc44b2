select postrider.tick();
