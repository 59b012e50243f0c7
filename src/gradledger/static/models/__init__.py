"""What libraries do to gradients."""
