// web_search: asks the operator's JSON endpoint, in the form of SearXNG, which may have a private address. A
// result without a usable URL is left out, and everything is bounded.
import { defineTool, type Tool, ToolFailure } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { type HttpAnswer, httpGet } from './http-get.ts'
import { addressesOf } from './public-address.ts'

export interface SearchResults {
  readonly query: string
  readonly results: readonly { readonly title: string; readonly url: string; readonly snippet: string }[]
}

const bytesMax = 4_194_304
const titleCharsMax = 300
const urlCharsMax = 2_000
const snippetCharsMax = 1_000
const reserveMs = 1_000

export function webSearch({
  url: endpoint,
  timeoutMs,
}: {
  readonly url: string
  readonly timeoutMs: number
}): Tool {
  return defineTool({
    name: 'web_search',
    description:
      'Searches the web. Returns pages, the best first, each with its "title", "url" and "snippet". Read a page with web_fetch before you rely on it.',
    input: z.strictObject({
      query: z.string().trim().min(1).max(1_000).describe('A few words.'),
      limit: z.int().min(1).max(20).default(8).describe('At most this many pages, 1 to 20. Default 8.'),
    }),
    idempotent: true,
    effects: 'reads',
    reads: 'web',
    sink: 'query',
    subject: ({ query }) => query,
    timeoutMs: timeoutMs + reserveMs,
    async run({ query, limit }, context): Promise<SearchResults> {
      const late = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([context.signal, late])
      const url = new URL(endpoint)
      url.searchParams.set('q', query)
      url.searchParams.set('format', 'json')
      try {
        const answer = await httpGet(url, { addressesOf, accept: 'application/json', bytesMax, signal })
        return { query, results: resultsOf(answer).slice(0, limit) }
      } catch (error) {
        if (!late.aborted || context.signal.aborted) throw error
        throw new ToolFailure(
          'tool_timeout',
          `The search endpoint did not answer within ${timeoutMs / 1000} s. Try again later.`,
        )
      }
    },
  })
}

function resultsOf({ status, statusText, body, cut }: HttpAnswer): SearchResults['results'][number][] {
  const advice = 'The operator of Beaver must check "web_search.url".'
  if (status < 200 || status > 299) {
    const hint =
      status === 403 ? ' SearXNG answers like this if "json" is missing in its search.formats.' : ''
    throw new ToolFailure('http_error', `The search endpoint answered ${statusText}.${hint} ${advice}`)
  }
  if (cut)
    throw new ToolFailure(
      'bad_answer',
      `The search endpoint answered with more than ${bytesMax} bytes. ${advice}`,
    )
  let answer: unknown
  try {
    answer = JSON.parse(body?.toString('utf8') ?? '')
  } catch {
    throw new ToolFailure('bad_answer', `The search endpoint did not answer with JSON. ${advice}`)
  }
  const listed = Array.isArray(answer) ? (answer as unknown[]) : fieldOf(answer, 'results')
  if (!Array.isArray(listed))
    throw new ToolFailure('bad_answer', `The answer of the search endpoint has no list "results". ${advice}`)
  return listed.flatMap((each: unknown) => {
    const url = URL.parse(textOf(each, urlCharsMax, 'url', 'link'))
    if (url === null || !/^https?:$/.test(url.protocol)) return []
    return [
      {
        title: textOf(each, titleCharsMax, 'title') || url.href,
        url: url.href,
        snippet: textOf(each, snippetCharsMax, 'content', 'snippet', 'description'),
      },
    ]
  })
}

/** The first field with text, on one line. */
function textOf(value: unknown, charsMax: number, ...names: readonly string[]): string {
  const found = names.map((name) => fieldOf(value, name)).find((each) => typeof each === 'string')
  return typeof found === 'string' ? found.slice(0, charsMax).replace(/\s+/g, ' ').trim() : ''
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}
