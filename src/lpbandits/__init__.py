"""Latent preference bandits."""
