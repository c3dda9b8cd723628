// Who uses this page: signing in with a one-time code or a token, and signing out.
import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query'
import { ApiProblem, request } from './api.ts'
import { type Me, may, takeLoginCode, token } from './session.ts'

/** Nobody is signed in. `reason`: why, in a sentence, if somebody was or tried. */
export interface SignedOut {
  readonly reason: string | null
}

let code = takeLoginCode()
let reason: string | null = null

// The address is read once, but a link that is opened in a page that is already there changes only the part
// behind the #, which loads nothing.
export function whenLoginLinkOpens(open: () => void): void {
  addEventListener('hashchange', () => {
    const next = takeLoginCode()
    if (next === null) return
    code = next
    open()
  })
}

/** @returns the token of a one-time code, or the token that is there if the code does not work */
async function exchanged(used: string): Promise<string> {
  try {
    // Without the token that is there: a page of a stranger may have opened the link.
    const { token: given } = await request<{ token: string }>('/api/v1/login', {
      method: 'POST',
      body: { code: used },
      isAnonymous: true,
    })
    return given
  } catch (error) {
    const kept = token.read()
    if (kept === null) throw error
    return kept
  }
}

async function signIn(): Promise<Me | SignedOut> {
  let triesToken = false
  try {
    if (code !== null) {
      const used = code
      code = null
      token.keep(await exchanged(used))
    }
    if (token.read() === null) return { reason }
    reason = null
    triesToken = true
    return await request<Me>('/api/v1/me')
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500) throw error
    reason =
      triesToken && error.status === 401 ? 'This token does not work, or its login has ended.' : error.message
    return { reason }
  }
}

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: (): Promise<Me | SignedOut> => signIn(),
})

/** Who uses the page. Only for parts that are shown after signing in. */
export function useMe(): Me {
  const { data } = useQuery(meQuery)
  return data !== undefined && 'name' in data
    ? data
    : { name: '', roles: [], user_id: null, expires_at: null }
}

/** Whether the one who uses the page may use what needs `role`. */
export const useMay = (role: Me['roles'][number]): boolean => may(useMe(), role)

/** Signs in with a token of "beaver token create". */
export async function signInWith(given: string, client: QueryClient): Promise<void> {
  token.keep(given)
  await client.invalidateQueries(meQuery)
}

/** Ends the session here and at the gateway. */
export async function signOut(client: QueryClient): Promise<void> {
  await request('/api/v1/logout', { method: 'POST', body: {} }).catch(() => {}) // It expires by itself.
  forget(client, null)
}

/** Shows the page for signing in, with why. */
export function forget(client: QueryClient, why: string | null): void {
  token.drop()
  reason = why
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
  const out: SignedOut = { reason: why }
  client.setQueryData(meQuery.queryKey, () => out)
}
