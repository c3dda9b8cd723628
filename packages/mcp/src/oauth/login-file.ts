// The login at one MCP server on disk: tokens, their client and their issuer, one file for each server. Only
// the user can read the file and its folder; a file that others can read is refused. One process at a time
// replaces it, as a whole. With another URL of the server, a login does not count.
import { lstat, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, messageOf } from '@beaver/core'
import { makeFolder, whileLocked } from '@beaver/platform'
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { z } from 'zod'

const tokens = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
  issuer: z.string().optional(),
})
const content = z.strictObject({
  version: z.literal(1),
  url: z.string(),
  /** The port of the redirect for which the client was registered. */
  redirect_port: z.number().int().optional(),
  client: z.looseObject({ client_id: z.string().min(1) }).optional(),
  discovery: z.looseObject({ authorizationServerUrl: z.string() }).optional(),
  tokens: tokens.optional(),
})

export interface Login {
  readonly redirectPort?: number | undefined
  readonly client?: StoredOAuthClientInformation | undefined
  readonly discovery?: OAuthDiscoveryState | undefined
  readonly tokens?: StoredOAuthTokens | undefined
}

export type LoginRead =
  | { readonly kind: 'ok'; readonly login: Login | null }
  | { readonly kind: 'unusable'; readonly message: string }

const fileBytesMax = 1024 * 1024

export const mcpLoginsFolder = (home: string): string => join(home, 'mcp-logins')

export class LoginFile {
  readonly path: string
  readonly #url: string
  readonly #clock: Clock

  constructor({ folder, server, url, clock }: { folder: string; server: string; url: string; clock: Clock }) {
    this.path = join(folder, `${server}.json`)
    this.#url = new URL(url).href
    this.#clock = clock
  }

  /** `login: null`: there is none for this URL. Never rejects. */
  async read(): Promise<LoginRead> {
    try {
      const found = await lstat(this.path)
      const fault = faultOf(found)
      if (fault !== null) return unusable(this.path, fault)
      const read = content.safeParse(JSON.parse(await readFile(this.path, 'utf8')))
      if (!read.success) return unusable(this.path, 'its content is not that of a login')
      const { url, redirect_port: redirectPort, client, discovery, tokens: held } = read.data
      if (url !== this.#url) return { kind: 'ok', login: null }
      return {
        kind: 'ok',
        login: {
          redirectPort,
          client,
          discovery: discovery as OAuthDiscoveryState | undefined,
          tokens: held,
        },
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'ok', login: null }
      // A parser's message may quote the file.
      return unusable(this.path, error instanceof SyntaxError ? 'it is no JSON' : messageOf(error))
    }
  }

  async write(login: Login): Promise<void> {
    const { redirectPort, ...held } = login
    const text = JSON.stringify({
      version: 1,
      url: this.#url,
      ...(redirectPort === undefined ? {} : { redirect_port: redirectPort }),
      ...held,
    })
    makeFolder(dirname(this.path))
    const next = `${this.path}.${process.pid}`
    await rm(next, { force: true })
    const file = await open(next, 'wx', 0o600)
    try {
      await file.writeFile(`${text}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, this.path)
  }

  /** Returns whether there was one. */
  async remove(): Promise<boolean> {
    const there = (await lstat(this.path).catch(() => null)) !== null
    await rm(this.path, { force: true })
    return there
  }

  /** A text that differs after each change. */
  async version(): Promise<string> {
    const found = await lstat(this.path).catch(() => null)
    return found === null ? '' : `${found.ino} ${found.mtimeMs} ${found.mode}`
  }

  /** Runs `act` while no other process changes the login. */
  async alone<Value>(act: () => Promise<Value>): Promise<Value> {
    // A renewal asks another server, so its owner may hold the lock for a while.
    return whileLocked(this.path, act, { clock: this.#clock, waitMsMax: 60_000, staleMs: 90_000 })
  }
}

function faultOf(found: {
  isFile(): boolean
  readonly mode: number
  readonly uid: number
  readonly size: number
}): string | null {
  if (!found.isFile()) return 'it is no plain file'
  if (found.size > fileBytesMax) return 'it is too large'
  if (process.platform === 'win32') return null
  if (process.getuid !== undefined && found.uid !== process.getuid()) return 'it belongs to another user'
  return (found.mode & 0o077) === 0 ? null : 'other users can read it'
}

const unusable = (path: string, why: string): LoginRead => ({
  kind: 'unusable',
  message: `The login in ${path} cannot be used: ${why}. Remove the file, and log in again.`,
})
