select postrider.redrive_all();
