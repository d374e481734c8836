"""What the commands do, without printing: verification, checks, generated inputs."""
