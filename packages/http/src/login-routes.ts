// The routes by which a person logs in with the code of a link, asks who they are, and logs out. `beaver
// console` and `beaver up` print such a link. The token of a login is a token like any other, so every other
// route treats it as one.
import { z } from 'zod'
import { type Caller, tokenRoles } from './access.ts'
import { rateLimit } from './limits.ts'
import { HttpProblem } from './problem.ts'
import { json, type Route, route } from './route.ts'
import type { TokenStore } from './token-store.ts'

/** What the app needs of a `TokenStore` for logins. */
export type Logins = Pick<TokenStore, 'login' | 'revoke'>

const wrongCodesPerMinute = 10

const whoIs = z.object({
  name: z.string().describe('The name of the token. The journal has it in the "source" of a task.'),
  roles: z.array(z.enum(tokenRoles)).describe('What the token may do.'),
  user_id: z.string().nullable().describe('The user for whom the token speaks. null: it may name any user.'),
  expires_at: z.iso.datetime().nullable().describe('When the token ends. null: when somebody revokes it.'),
})

const shown = ({ name, roles, userId, expires_at }: Caller): z.output<typeof whoIs> => ({
  name,
  roles: [...roles],
  user_id: userId ?? null,
  expires_at: expires_at ?? null,
})

/** The routes. Without `logins`, a person can only ask who a token is. */
export const loginRoutes = (logins: Logins | undefined, now: () => number): readonly Route[] =>
  logins === undefined ? [asking] : [loggingIn(logins, now), loggingOut(logins), asking]

function loggingIn(logins: Logins, now: () => number): Route {
  const count = rateLimit({
    perSecond: wrongCodesPerMinute / 60,
    most: wrongCodesPerMinute,
    now,
    says: `You have sent ${wrongCodesPerMinute} wrong codes within a minute.`,
  })
  return route(
    {
      tag: 'logins',
      role: null,
      method: 'post',
      at: '/api/v1/login',
      name: 'logIn',
      says: 'Exchanges the code of a link for a token that lasts twelve hours. "beaver console" prints such a link. A code works once, for ten minutes.',
      answer: {
        status: 200,
        says: 'The token, which is shown only now.',
        schema: whoIs.extend({ token: z.string().describe('The token.') }),
      },
    },
    { body: z.strictObject({ code: z.string().min(1).max(100).describe('The code of the link.') }) },
    async ({ body, address }) => {
      const made = await logins.login(body.code, new Date(now()))
      if (made === null) {
        // A right code is never counted: another user of this machine has the same address. 128 random bits need
        // no bound on guesses; the bound keeps a flood of them short.
        count(address)
        throw new HttpProblem(
          'unauthorized',
          'This code does not work. A code works once, for ten minutes. "beaver console" prints a link with a new one.',
        )
      }
      return json({ token: made.token, ...shown(made) })
    },
  )
}

const loggingOut = (logins: Logins): Route =>
  route(
    {
      tag: 'logins',
      role: 'any',
      method: 'post',
      at: '/api/v1/logout',
      name: 'logOut',
      says: 'Ends the login whose token asks. A token of "beaver token create" is refused: it ends by "beaver token revoke".',
      answer: { status: 200, says: 'The login that has ended.', schema: whoIs },
    },
    {},
    async ({ caller }) => {
      if (caller.login !== true)
        throw new HttpProblem(
          'not_allowed',
          `The token ${JSON.stringify(caller.name)} did not come from a link, so it cannot log out. "beaver token revoke" ends it.`,
        )
      await logins.revoke(caller.name)
      return json(shown(caller))
    },
  )

const asking = route(
  {
    tag: 'logins',
    role: 'any',
    method: 'get',
    at: '/api/v1/me',
    name: 'whoAmI',
    says: 'Says whose the token of the request is, what it may do, and when it ends.',
    answer: { status: 200, says: 'Who asks.', schema: whoIs },
  },
  {},
  ({ caller }) => json(shown(caller)),
)
