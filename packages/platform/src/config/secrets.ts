// The secrets of the configuration, which no line of the log may show.
// S1. These are the keys, the passwords in the URLs of NATS and of models (a user without a password is a token, and a secret too), and each
//     variable to which an MCP server's `env` or `headers` refers.
import type { Config } from './config.ts'

/** @param env the environment from which `$NAME` is read */
export function secretsOf(config: Config, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const urls = [
    config.nats_url,
    config.checkpoints.webhook,
    config.checkpoints.bucket?.nats_url,
    config.model.base_url,
    config.model.fallback?.base_url,
    config.model.auxiliary?.base_url,
    config.model.embeddings?.base_url,
  ]
  const credentials = urls
    .flatMap((list) => (list ?? '').split(','))
    .flatMap((url) => {
      const parsed = URL.parse(url.trim())
      return parsed === null ? [] : [parsed.password, parsed.password === '' ? parsed.username : ''].map(decodeURIComponent)
    })
  const values = Object.values(config.mcp).flatMap((server) => Object.values('url' in server ? server.headers : server.env))
  const referred = values.flatMap((value) => [...value.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name = '']) => env[name]))
  return [config.natsLogin.password, config.natsLogin.token, config.apiKey, ...Object.values(config.apiKeys), ...credentials, ...referred].filter(
    (secret): secret is string => typeof secret === 'string' && secret !== '',
  )
}
