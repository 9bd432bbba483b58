"""The pages of connections: model endpoints under /manage/connections, compute backends under /manage/compute."""
