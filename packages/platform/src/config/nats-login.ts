// The login of a process at a NATS server: at one of the user's own, or at the embedded one.
// It is only in the environment, as all secrets are, in the variables that the programs of NATS use.
import { resolve } from 'node:path'

/**
 * A login at a NATS server. Paths are absolute. Everything is optional; without a login a process is
 * anonymous.
 */
export interface NatsLogin {
  /** In whose name requests are sent. Default: what the login itself names. */
  readonly caller?: string
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** A file with a JWT and its seed, as `nsc` writes it. */
  readonly credsFile?: string
  /** A file with the seed of an nkey. */
  readonly nkeyFile?: string
  /**
   * A folder with an nkey for each role and each client, as `beaver nats-config --keys` makes it. Each
   * process takes the key of its own role.
   */
  readonly keysFolder?: string
  /** The certificates of the authorities that may have signed the certificate of the server, in PEM. */
  readonly caFile?: string
  /** The certificate of this process and its key, in PEM. */
  readonly certFile?: string
  readonly keyFile?: string
}

/** The environment variable of each field. */
export const natsLoginVariables = {
  caller: 'BEAVER_CALLER',
  user: 'NATS_USER',
  password: 'NATS_PASSWORD',
  token: 'NATS_TOKEN',
  credsFile: 'NATS_CREDS',
  nkeyFile: 'NATS_NKEY',
  keysFolder: 'BEAVER_NATS_KEYS',
  caFile: 'NATS_CA',
  certFile: 'NATS_CERT',
  keyFile: 'NATS_KEY',
} as const satisfies Record<keyof NatsLogin, string>

/** @param cwd where relative paths start */
export function natsLoginOf(env: Readonly<Record<string, string | undefined>>, cwd: string): NatsLogin {
  const fields = Object.entries(natsLoginVariables).flatMap(([field, name]) => {
    const value = env[name] || undefined
    return value === undefined ? [] : [[field, /(File|Folder)$/.test(field) ? resolve(cwd, value) : value]]
  })
  return Object.fromEntries(fields) as NatsLogin
}

/**
 * The environment that gives a child process this login and no other. The fields that the login lacks are
 * empty, and so are the names of files with a password or a token.
 */
export function natsLoginEnvironment(login: NatsLogin): Record<string, string> {
  return {
    ...Object.fromEntries(
      Object.entries(natsLoginVariables).map(([field, name]) => [
        name,
        login[field as keyof NatsLogin] ?? '',
      ]),
    ),
    NATS_PASSWORD_FILE: '',
    NATS_TOKEN_FILE: '',
  }
}
