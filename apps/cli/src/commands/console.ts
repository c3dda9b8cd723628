// `beaver console`: prints a link with which a person logs in to the console of a running gateway, once. What
// is behind the "#" of the link is not sent to the gateway and is in no log; the page exchanges it for a token.
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { runningGateways, tokensFile } from '@beaver/gateway'
import { type KeptToken, type TokenRole, TokenStore } from '@beaver/http'
import type { Config } from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { mustRead } from '../system/find-system.ts'
import { mustBeUser } from './token.ts'

export interface ConsoleOptions {
  readonly role?: readonly TokenRole[]
  readonly user?: string
  readonly json?: true
}

export async function consoleLink(options: ConsoleOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const { role: roles = ['admin'], user, json } = options
  mustBeUser(user)
  const reach = user === undefined ? {} : { userId: user }
  const { link, expires_at } = await newLink(config, { roles, now: new Date(), ...reach })
  if (json === true) screen.json({ link, expires_at, roles, user_id: user ?? null })
  else {
    screen.print(link)
    screen.warn(
      `${linkSays} The login has ${roles.length === 1 ? 'the role' : 'the roles'} ${roles.join(', ')}.`,
    )
  }
  return 0
}

/** What a link is good for, as sentences for a person. */
export const linkSays = 'The link works once, for ten minutes. Its login ends after twelve hours.'

/**
 * Makes a link for the gateway of this home.
 *
 * @throws {BeaverError} `unreachable` if none runs; as `TokenStore.createCode`
 */
export async function newLink(
  config: Pick<Config, 'home' | 'foreignHome'>,
  options: Pick<KeptToken, 'roles' | 'userId'> & { readonly now: Date },
): Promise<{ readonly link: string; readonly expires_at: string }> {
  const { url } = runningGateway(config)
  const { code, expires_at } = await new TokenStore(tokensFile(config.home)).createCode(options)
  return { link: `${url}/console/#login=${code}`, expires_at }
}

/** The gateway of this home. @throws {BeaverError} `unreachable` if none runs */
export function runningGateway({ home, foreignHome }: Pick<Config, 'home' | 'foreignHome'>): {
  readonly url: string
} {
  // The home of a stranger could name the stranger's page.
  if (!foreignHome) mustRead([home, join(home, 'run'), join(home, 'gateway')])
  const [gateway] = foreignHome ? [] : runningGateways(home)
  if (gateway === undefined)
    throw new BeaverError(
      'unreachable',
      `No gateway runs with its data in ${home}. "${commandName()} up" starts one, unless gateway.enabled is false. If it runs elsewhere, name its folder with --home.`,
    )
  return gateway
}
