# Hosts of routes.Caddyfile, as Proksi 0.6 writes them. `env("NAME")` stands for a variable of the environment, and
# `import("other.hcl")` for another file.
routes = [
  {
    host       = "blog.localhost"
    match_with = { path = { patterns = ["/*"] } }
    upstreams = [
      { ip = "127.0.0.1", port = 4000, weight = 3 },
      { ip = "127.0.0.1", port = 4000 + 1 },
    ]
    headers = {
      add    = [{ name = "X-Served-By", value = "doorway" }]
      remove = [{ name = "Server" }]
    }
  },
]
