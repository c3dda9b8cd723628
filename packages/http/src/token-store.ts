// The tokens of a home, in a file that holds only their hashes. A token is shown once, when it is made. The
// file is read again after each change, so a revoked token stops working with the next request. A lock allows
// one change at a time; without it, a concurrent change could lose a token that was already shown.
// A second file has the codes of links, also as hashes. A request that sends such a code once, in time, gets a token
// that ends by itself: a login.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { type KeptFile, keptFile, whileLocked } from '@beaver/platform'
import { z } from 'zod'
import { hasEnded, type KeptToken, tokenHash, tokenRoles } from './access.ts'

const ofAnyToken = {
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  roles: z.array(z.enum(tokenRoles)),
  userId: z.string().optional(),
}
const keptTokens = z.array(
  z.object({
    name: z.string(),
    ...ofAnyToken,
    everyUser: z.boolean().optional(),
    expires_at: z.iso.datetime().optional(),
    login: z.boolean().optional(),
    created_at: z.string(),
  }),
)
const keptCodes = z.array(z.object({ ...ofAnyToken, expires_at: z.iso.datetime() }))
type KeptCode = z.output<typeof keptCodes>[number]

/** A token of the store, and when it was made, as an ISO 8601 time. */
export type StoredToken = KeptToken & { readonly created_at: string }

/** 192 random bits, with a prefix by which scanners for secrets find it. */
const newToken = (): string => `beaver_${randomBytes(24).toString('base64url')}`

const tokensMax = 1_000
/** How long a login lasts, in milliseconds. */
const loginMsMax = 12 * 3_600_000
/** How long the code of a link may be used, in milliseconds. */
const codeMsMax = 600_000
/** The oldest code ends if there are more. */
const codesMax = 100
/** How long the store remembers a token that has ended, so that its owner can be told why it is refused. */
const endedMsMax = 24 * 3_600_000

/** The file of tokens, and the file of codes beside it. It reads a file when somebody first needs it. */
export class TokenStore {
  readonly #path: string
  readonly #file: KeptFile
  readonly #codes: KeptFile
  #read: { readonly stamp: string; readonly tokens: readonly StoredToken[] } | null = null

  constructor(path: string) {
    this.#path = path
    this.#file = keptFile(path)
    this.#codes = keptFile(join(dirname(path), 'logins.json'))
  }

  /**
   * The tokens, in the order in which they were made, and those of logins that have ended lately. Empty if
   * there is no file.
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
    await this.#change((all) => {
      const tokens = remembered(all, now)
      if (tokens.some((each) => each.name === name))
        throw new BeaverError(
          'conflict',
          `There is a token ${JSON.stringify(name)}. Revoke it first, or give this one another name.`,
        )
      return [...withRoom(tokens), made]
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

  /**
   * Makes the code of a link. It can be exchanged once, within ten minutes, for a login with these roles.
   *
   * @returns the code, which cannot be read again later, and when it ends, as an ISO 8601 time
   * @throws {BeaverError} `conflict` if another process holds the lock for 5 s
   */
  async createCode({ now, ...kept }: Pick<KeptToken, 'roles' | 'userId'> & { readonly now: Date }): Promise<{
    readonly code: string
    readonly expires_at: string
  }> {
    const code = randomBytes(16).toString('base64url')
    const expires_at = new Date(now.getTime() + codeMsMax).toISOString()
    const made: KeptCode = { sha256: tokenHash(code), ...kept, roles: [...kept.roles], expires_at }
    await this.#locked(() => this.#writeCodes([...this.#parseCodes(now), made].slice(-codesMax)))
    return { code, expires_at }
  }

  /**
   * Exchanges the code of a link for a token that lasts twelve hours.
   *
   * @returns `null` if the code is unknown, was used or is too old
   * @throws {BeaverError} `too_large` if there are 1,000 tokens; `conflict` if another process holds the lock
   * for 5 s; `invalid_configuration` if the file of tokens cannot be parsed
   */
  async login(code: string, now: Date): Promise<(StoredToken & { readonly token: string }) | null> {
    const sha256 = tokenHash(code)
    const isKnown = (each: KeptCode): boolean => each.sha256 === sha256
    // A wrong code must not take the lock.
    if (!this.#parseCodes(now).some(isKnown)) return null
    return this.#locked(async () => {
      const codes = this.#parseCodes(now)
      const found = codes.find(isKnown)
      if (found === undefined) return null
      const tokens = withRoom(remembered(this.#parse(), now))
      const token = newToken()
      const made: StoredToken = {
        name: `login-${randomBytes(4).toString('hex')}`,
        sha256: tokenHash(token),
        roles: found.roles,
        ...(found.userId === undefined ? {} : { userId: found.userId }),
        expires_at: new Date(now.getTime() + loginMsMax).toISOString(),
        login: true,
        created_at: now.toISOString(),
      }
      // In this order, because a code must never work twice.
      await this.#writeCodes(codes.filter((each) => each !== found))
      await this.#write([...tokens, made])
      return { ...made, token }
    })
  }

  async #change(change: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
    change(this.list()) // A refused change must not create the folder of the file.
    await this.#locked(() => this.#write(change(this.#parse())))
  }

  #locked<Value>(act: () => Promise<Value>): Promise<Value> {
    return whileLocked(this.#path, act, { waitMsMax: 5_000 })
  }

  async #write(tokens: readonly StoredToken[]): Promise<void> {
    await this.#file.write(`${JSON.stringify(tokens, null, 2)}\n`)
    this.#read = null
  }

  #writeCodes(codes: readonly KeptCode[]): Promise<void> {
    return this.#codes.write(`${JSON.stringify(codes, null, 2)}\n`)
  }

  /** The codes that still work. None if the file cannot be parsed: then each person asks for a new link. */
  #parseCodes(now: Date): readonly KeptCode[] {
    const text = this.#codes.read() ?? '[]' // A file that cannot be read is not an empty one.
    try {
      const codes = keptCodes.parse(JSON.parse(text))
      return codes.filter((each) => !hasEnded(each, now.getTime()))
    } catch {
      return []
    }
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

/** @throws {BeaverError} `too_large` */
function withRoom(tokens: readonly StoredToken[]): readonly StoredToken[] {
  if (tokens.length < tokensMax) return tokens
  throw new BeaverError('too_large', `There are ${tokensMax} tokens. Revoke those that nobody needs.`)
}

/** The tokens without those that ended long ago. */
const remembered = (tokens: readonly StoredToken[], now: Date): readonly StoredToken[] =>
  tokens.filter((each) => !hasEnded(each, now.getTime() - endedMsMax))

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch {
    return 'none'
  }
}
