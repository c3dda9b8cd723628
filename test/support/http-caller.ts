// Requests to the HTTP app in a test. It never listens: each request is a call of `fetch`.
import type { HttpApp } from '@beaver/http'

export interface Sent {
  /** Default: `ops-token`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or a text that is sent as it is. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** @param app the app that gets the requests, for the host `beaver.test` */
export const caller =
  (app: () => HttpApp) =>
  (
    method: string,
    path: string,
    { token = 'ops-token', headers = {}, body, signal }: Sent = {},
  ): Promise<Response> =>
    app().fetch(
      new Request(`http://beaver.test${path}`, {
        method,
        headers: {
          host: 'beaver.test',
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    )

export const told = async (answer: Response): Promise<Record<string, never>> =>
  (await answer.json()) as Record<string, never>

/** The messages of a stream of events. */
export async function messagesOf(
  answer: Response,
): Promise<{ id?: string; event: string; data: Record<string, unknown> }[]> {
  const blocks = (await answer.text()).split('\n\n').filter((block) => block.includes('event: '))
  return blocks.map((block) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const id = field('id')
    return {
      ...(id === undefined ? {} : { id }),
      event: field('event') ?? '',
      data: JSON.parse(field('data') ?? 'null') as Record<string, unknown>,
    }
  })
}
