// Decides who may request what. A caller is a token: its name, its roles and perhaps its user. A route names
// the one role that it needs, or `any` if the role depends on the request. The role `admin` includes every
// other role. A token with a user acts for that user alone. It cannot name another user, and it reaches only
// the tasks and sessions of its user (D-67); for those of others it gets `not_found`. Tokens with `everyUser`
// or the role `admin` reach all of them. Only hashes of tokens are kept, and they are compared in constant
// time.
import { createHash, timingSafeEqual } from 'node:crypto'
import { HttpProblem } from './problem.ts'

export const tokenRoles = ['read', 'submit', 'approve', 'admin'] as const
/**
 * `read`: see tasks. `submit`: submit and control tasks. `approve`: decide about calls. `admin`: everything.
 */
export type TokenRole = (typeof tokenRoles)[number]

/** A token as the store keeps it, without the token itself. */
export interface KeptToken {
  /** The name of the token. The journal records it in the `source` of a task. */
  readonly name: string
  /** The SHA-256 of the token, in hexadecimal. */
  readonly sha256: string
  readonly roles: readonly TokenRole[]
  /** The user for whom the token acts. Absent: it may name any user. */
  readonly userId?: string
  /**
   * Whether a token with a user also reaches the tasks of other users, for example to decide about their
   * calls. Default: false.
   */
  readonly everyUser?: boolean
  /** When the token ends, as an ISO 8601 time. Absent: when somebody revokes it. */
  readonly expires_at?: string
  /** Whether a person got the token by a link. Then this person may end it. Default: false. */
  readonly login?: boolean
}

/** Who sent a request. */
export type Caller = Omit<KeptToken, 'sha256'>

/** Finds the caller of a token. */
export interface Access {
  /** The caller that has this token. `null`: the token is unknown. */
  caller(token: string): Caller | null
}

/** The SHA-256 of a token, in hexadecimal. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex')

/**
 * @param tokens returns the current tokens. It is called for each request, so a revoked token ends at once
 */
export function tokenAccess(tokens: () => readonly KeptToken[]): Access {
  return {
    caller(token) {
      const hash = Buffer.from(tokenHash(token), 'hex')
      let found: Caller | null = null
      for (const { sha256, ...caller } of tokens()) {
        const kept = Buffer.from(sha256, 'hex')
        if (kept.length === hash.length && timingSafeEqual(kept, hash)) found = caller
      }
      return found
    },
  }
}

/**
 * Identifies the caller by the header `Authorization` and checks its role.
 *
 * @param role `any`: the caller needs a token, and the handler checks the role
 * @param nowMs the current time
 * @throws {HttpProblem} `unauthorized` without a valid token; `not_allowed` without the role
 */
export function callerOf(
  access: Access,
  authorization: string | undefined,
  role: TokenRole | 'any',
  nowMs: number,
): Caller {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  const caller = token === undefined ? null : access.caller(token)
  if (caller === null)
    throw unauthorized(
      'Send a token in the header "Authorization: Bearer …". "beaver token create" makes one.',
    )
  if (hasEnded(caller, nowMs))
    throw unauthorized(
      `The login ${JSON.stringify(caller.name)} ended at ${caller.expires_at}. "beaver console" prints a link for a new one.`,
    )
  if (role !== 'any') mustHave(caller, role)
  return caller
}

const unauthorized = (detail: string): HttpProblem =>
  new HttpProblem('unauthorized', detail, { headers: { 'www-authenticate': 'Bearer realm="beaver"' } })

/** Whether the time of a token is over. */
export const hasEnded = ({ expires_at }: Pick<KeptToken, 'expires_at'>, nowMs: number): boolean =>
  expires_at !== undefined && Date.parse(expires_at) <= nowMs

/**
 * The one user whose tasks and sessions the caller reaches. `undefined`: the caller reaches those of all
 * users.
 */
export const reachOf = ({ userId, everyUser = false, roles }: Caller): string | undefined =>
  everyUser || roles.includes('admin') ? undefined : userId

/** Whether the caller reaches the tasks and sessions of `owner`. `undefined`: they belong to no user. */
export function reaches(caller: Caller, owner: string | undefined): boolean {
  const user = reachOf(caller)
  return user === undefined || user === owner
}

/** Whether the caller has the role, or the role `admin`. */
export const hasRole = ({ roles }: Caller, role: TokenRole): boolean =>
  roles.includes(role) || roles.includes('admin')

/** @throws {HttpProblem} `not_allowed` */
export function mustHave(caller: Caller, role: TokenRole): void {
  if (!hasRole(caller, role))
    throw new HttpProblem(
      'not_allowed',
      `The token ${JSON.stringify(caller.name)} does not have the role ${role}.`,
    )
}

/**
 * The user of a request: the user that it names, or else the user of the token.
 *
 * @throws {HttpProblem} `not_allowed` if the token acts for another user
 */
export function userOf(caller: Caller, asked: string | undefined): string | undefined {
  if (caller.userId === undefined || asked === undefined || asked === caller.userId)
    return asked ?? caller.userId
  throw new HttpProblem(
    'not_allowed',
    `The token ${JSON.stringify(caller.name)} speaks for the user ${JSON.stringify(caller.userId)} only.`,
  )
}

/**
 * Who did it, for the journal: the user of the token. For a token without a user, "http:" and the name of
 * the token, as in the source of a task.
 */
export const doneFor = ({ userId, name }: Caller): string => userId ?? `http:${name}`
