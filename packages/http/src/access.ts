// Who may ask for what. A caller has a token; the token has a name, roles and perhaps a user.
// A1. A route names the one role that it needs. `admin` has every role.
// A2. A token with a user speaks for that user alone: what it asks is asked for the user, and another user is refused.
// A3. Tokens are compared by their hashes, in constant time. Nothing here can give a token back.
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

/** @throws {HttpProblem} `unauthorized`, `not_allowed` */
export function callerOf(access: Access, authorization: string | undefined, role: TokenRole): Caller {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  const caller = token === undefined ? null : access.caller(token)
  if (caller === null)
    throw new HttpProblem('unauthorized', 'Send a token in the header "Authorization: Bearer …". "beaver token create" makes one.', {
      headers: { 'www-authenticate': 'Bearer realm="beaver"' },
    })
  if (!caller.roles.includes(role) && !caller.roles.includes('admin'))
    throw new HttpProblem('not_allowed', `The token ${JSON.stringify(caller.name)} does not have the role ${role}.`)
  return caller
}

/** The user for whom a request is made. @throws {HttpProblem} `not_allowed` if the token speaks for another user */
export function userOf(caller: Caller, asked: string | undefined): string | undefined {
  if (caller.userId === undefined || asked === undefined || asked === caller.userId) return asked ?? caller.userId
  throw new HttpProblem('not_allowed', `The token ${JSON.stringify(caller.name)} speaks for the user ${JSON.stringify(caller.userId)} only.`)
}
