// `beaver token`: manages who may use the gateway: the tokens of programs, and the logins of persons. A token
// is shown only when it is made; the home keeps its hash.
import { BeaverError, foreignId } from '@beaver/core'
import { tokensFile } from '@beaver/gateway'
import { hasEnded, reachOf, type TokenRole, type StoredToken, TokenStore } from '@beaver/http'
import { contextOf, type GlobalOptions } from '../context.ts'
import { commandName } from '../command-name.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { tokenAdvice } from '../text/token-advice.ts'

export interface TokenOptions {
  readonly role?: readonly TokenRole[]
  readonly user?: string
  readonly everyUser?: true
  readonly json?: true
}

export async function token(
  verb: 'list' | 'create' | 'revoke',
  name: string | undefined,
  options: TokenOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const store = new TokenStore(tokensFile(config.home))
  switch (verb) {
    case 'list': {
      const tokens = store.list().filter((each) => !hasEnded(each, Date.now()))
      if (options.json === true) screen.json({ tokens: tokens.map(answerOf) })
      else if (tokens.length === 0) screen.print(`There are no tokens. ${tokenAdvice()}`)
      else
        screen.print(
          ...table<StoredToken>(
            [
              { title: 'NAME', cell: (each) => oneLine(each.name, 100), paint: screen.style.cyan },
              { title: 'ROLES', cell: ({ roles }) => roles.join(', ') },
              {
                title: 'USER',
                cell: ({ userId = '', everyUser = false }) =>
                  `${oneLine(userId, 100)}${everyUser ? ' (reaches all)' : ''}`,
                optional: 1,
              },
              { title: 'SINCE', cell: ({ created_at }) => created_at.slice(0, 10), optional: 2 },
              {
                title: 'UNTIL',
                cell: ({ expires_at = '' }) => expires_at.slice(0, 16).replace('T', ' '),
                optional: 1,
              },
            ],
            tokens,
            { width: screen.columns, title: screen.style.bold },
          ),
        )
      return 0
    }
    case 'create': {
      const { role: roles = [], user, everyUser, json } = options
      if (roles.length === 0)
        throw new BeaverError(
          'invalid_arguments',
          'Say what the token may do: --role read, --role submit, --role approve or --role admin. The option may be repeated.',
        )
      if (everyUser === true && user === undefined)
        throw new BeaverError(
          'invalid_arguments',
          'A token without a user reaches the tasks of all users. Say --user too, or leave --every-user out.',
        )
      mustBeUser(user)
      const reach = {
        ...(user === undefined ? {} : { userId: user }),
        ...(everyUser === true ? { everyUser } : {}),
      }
      const made = await store.create(nameOf(name), { roles, now: new Date(), ...reach })
      if (json === true)
        screen.json({
          name,
          token: made,
          roles,
          user_id: user ?? null,
          every_user: reachOf({ name: '', roles, ...reach }) === undefined,
        })
      else {
        screen.warn('Keep this token: Beaver shows it only now.')
        screen.print(made)
      }
      return 0
    }
    case 'revoke':
      await store.revoke(nameOf(name))
      if (options.json === true) screen.json({ name, revoked: true })
      else
        screen.print(
          `${screen.symbols.done} The token ${oneLine(nameOf(name), 100)} is revoked. A running gateway refuses it from the next request on.`,
        )
      return 0
    default:
      return verb satisfies never
  }
}

const answerOf = (token: StoredToken): object => {
  const { name, roles, userId, created_at, expires_at = null, login = false } = token
  const every_user = reachOf(token) === undefined
  return { name, roles, user_id: userId ?? null, every_user, created_at, expires_at, login }
}

/** @throws {BeaverError} `invalid_arguments` */
export function mustBeUser(user: string | undefined): void {
  const named = user === undefined ? null : foreignId.safeParse(user)
  if (named?.success === false)
    throw new BeaverError('invalid_arguments', `--user ${named.error.issues[0]?.message ?? 'is not valid'}.`)
  if (user !== undefined && /^http:/i.test(user))
    throw new BeaverError(
      'invalid_arguments',
      '--user must not begin with "http:": the journal names tokens without a user like this.',
    )
}

function nameOf(name: string | undefined): string {
  if (name !== undefined && /^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name
  throw new BeaverError(
    'invalid_arguments',
    `Name the token, with 1 to 64 letters, digits, ".", "-" or "_": ${commandName()} token create ci --role submit`,
  )
}
