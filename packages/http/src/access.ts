// Who may ask for what. A caller has a token; the token has a name, roles and perhaps a user. A route names
// the one role that it needs, or `any` if what is asked decides. `admin` has every role. A token with a user
// speaks for that user alone: what it asks is asked for the user, and another user is refused. It reaches the
// tasks and the sessions of that user alone (D-67): those of others do not exist for it. `everyUser` and the
// role `admin` reach all. Tokens are compared by their hashes, in constant time. Nothing here can give a
// token back.
import { createHash, timingSafeEqual } from 'node:crypto'
import { HttpProblem } from './problem.ts'

export const tokenRoles = ['read', 'submit', 'approve', 'admin'] as const
/** `read`: look at tasks. `submit`: start and control them. `approve`: decide calls. `admin`: everything. */
export type TokenRole = (typeof tokenRoles)[number]

/** A token as it is kept. */
export interface KeptToken {
  /** What the token is called. The journal records it as part of the source of a task. */
  readonly name: string
  /** The SHA-256 of the token, in hexadecimal. */
  readonly sha256: string
  readonly roles: readonly TokenRole[]
  /** The user for whom the token speaks. Absent: any user. */
  readonly userId?: string
  /**
   * Whether a token with a user also reaches the tasks of others: to decide their calls, or to look after
   * them. Default: no.
   */
  readonly everyUser?: boolean
}

/** Who sent a request. */
export type Caller = Omit<KeptToken, 'sha256'>

export interface Access {
  /** The caller with this token. `null`: nobody has it. */
  caller(token: string): Caller | null
}

export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex')

/** @param tokens gives the tokens as they are now, so that one that was withdrawn ends at once */
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
 * @param role `any`: the caller needs a token, and the handler asks for the role
 * @throws {HttpProblem} `unauthorized`, `not_allowed`
 */
export function callerOf(access: Access, authorization: string | undefined, role: TokenRole | 'any'): Caller {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  const caller = token === undefined ? null : access.caller(token)
  if (caller === null)
    throw new HttpProblem(
      'unauthorized',
      'Send a token in the header "Authorization: Bearer …". "beaver token create" makes one.',
      {
        headers: { 'www-authenticate': 'Bearer realm="beaver"' },
      },
    )
  if (role !== 'any') mustHave(caller, role)
  return caller
}

/** The one user whose tasks and sessions a caller reaches. `undefined`: it reaches those of all. */
export const reachOf = ({ userId, everyUser = false, roles }: Caller): string | undefined =>
  everyUser || roles.includes('admin') ? undefined : userId

/** Whether a caller reaches what belongs to `owner`. `undefined`: it belongs to no user. */
export function reaches(caller: Caller, owner: string | undefined): boolean {
  const user = reachOf(caller)
  return user === undefined || user === owner
}

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
 * The user for whom a request is made. @throws {HttpProblem} `not_allowed` if the token speaks for another
 * user
 */
export function userOf(caller: Caller, asked: string | undefined): string | undefined {
  if (caller.userId === undefined || asked === undefined || asked === caller.userId)
    return asked ?? caller.userId
  throw new HttpProblem(
    'not_allowed',
    `The token ${JSON.stringify(caller.name)} speaks for the user ${JSON.stringify(caller.userId)} only.`,
  )
}
