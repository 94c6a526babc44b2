select postrider.cleanup_dlq();
