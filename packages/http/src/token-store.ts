// The tokens of a home, in a file that holds only their hashes. A token is shown once, when it is made. The
// file is read again after each change, so a revoked token stops working with the next request. A lock allows
// one change at a time; without it, a concurrent change could lose a token that was already shown.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { BeaverError } from '@beaver/core'
import { type KeptFile, keptFile, whileLocked } from '@beaver/platform'
import { z } from 'zod'
import { type KeptToken, tokenHash, tokenRoles } from './access.ts'

const keptTokens = z.array(
  z.object({
    name: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    roles: z.array(z.enum(tokenRoles)),
    userId: z.string().optional(),
    everyUser: z.boolean().optional(),
    created_at: z.string(),
  }),
)

/** A token of the store, and when it was made, as an ISO 8601 time. */
export type StoredToken = KeptToken & { readonly created_at: string }

/** 192 random bits, with a prefix by which scanners for secrets find it. */
const newToken = (): string => `beaver_${randomBytes(24).toString('base64url')}`

const tokensMax = 1_000

/** The file of tokens. It reads the file when somebody first needs it. */
export class TokenStore {
  readonly #path: string
  readonly #file: KeptFile
  #read: { readonly stamp: string; readonly tokens: readonly StoredToken[] } | null = null

  constructor(path: string) {
    this.#path = path
    this.#file = keptFile(path)
  }

  /**
   * The tokens, in the order in which they were made. Empty if there is no file.
   *
   * @throws {BeaverError} `invalid_configuration` if the file cannot be parsed
   */
  list(): readonly StoredToken[] {
    const stamp = stampOf(this.#path)
    if (this.#read?.stamp !== stamp) this.#read = { stamp, tokens: this.#parse() }
    return this.#read.tokens
  }

  /**
   * Makes a token and adds it to the file.
   *
   * @returns the token, which cannot be read again later
   * @throws {BeaverError} `conflict` if a token has this name, or if another process holds the lock for 5 s;
   * `too_large` if there are 1,000 tokens; `invalid_configuration` if the file cannot be parsed
   */
  async create(
    name: string,
    options: Omit<KeptToken, 'name' | 'sha256'> & { readonly now: Date },
  ): Promise<string> {
    const token = newToken()
    const { now, ...kept } = options
    const made = { name, sha256: tokenHash(token), ...kept, created_at: now.toISOString() }
    await this.#change((tokens) => {
      if (tokens.some((each) => each.name === name))
        throw new BeaverError(
          'conflict',
          `There is a token ${JSON.stringify(name)}. Revoke it first, or give this one another name.`,
        )
      if (tokens.length >= tokensMax)
        throw new BeaverError('too_large', `There are ${tokensMax} tokens. Revoke those that nobody needs.`)
      return [...tokens, made]
    })
    return token
  }

  /**
   * Removes a token.
   *
   * @throws {BeaverError} `not_found`; `conflict` if another process holds the lock for 5 s;
   * `invalid_configuration` if the file cannot be parsed
   */
  async revoke(name: string): Promise<void> {
    await this.#change((tokens) => {
      const left = tokens.filter((each) => each.name !== name)
      if (left.length === tokens.length)
        throw new BeaverError(
          'not_found',
          `There is no token ${JSON.stringify(name)}. "beaver token list" lists them.`,
        )
      return left
    })
  }

  async #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
    change(this.list()) // A refused change must not create the folder of the file.
    await whileLocked(
      this.#path,
      () => this.#file.write(`${JSON.stringify(change(this.#parse()), null, 2)}\n`),
      { waitMsMax: 5_000 },
    )
    this.#read = null
  }

  #parse(): readonly StoredToken[] {
    const text = this.#file.read()
    if (text === null) return []
    try {
      return keptTokens.parse(JSON.parse(text)) as readonly StoredToken[]
    } catch {
      throw new BeaverError(
        'invalid_configuration',
        `The file of tokens ${this.#path} cannot be read. Put it back from a backup, or delete it and make new tokens.`,
      )
    }
  }
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch {
    return 'none'
  }
}
