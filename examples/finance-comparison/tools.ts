// Test doubles of web_search and web_fetch: they serve the pages of `site/`, which were made for this
// example, and open no connection. Tools of your own look the same: a schema, and a function.
import { readFile } from 'node:fs/promises'
import { defineTool, ToolFailure } from '@beaver/agent'
import { z } from 'zod'

interface Listed {
  readonly url: string
  readonly title: string
  readonly published: string
  readonly file: string
}

const read = (file: string): Promise<string> => readFile(new URL(`site/${file}`, import.meta.url), 'utf8')
const listed = async (): Promise<readonly Listed[]> =>
  JSON.parse(await read('index.json')) as readonly Listed[]

const resultsMax = 10

export const webSearch = defineTool({
  name: 'web_search',
  description:
    'Searches the web. Returns the pages that hold the words of the query, the best first, each with its title, URL, date and beginning.',
  input: z.strictObject({
    query: z.string().min(1).describe('A few words.'),
    site: z.string().optional().describe('Only pages of this host, such as filings.example.'),
    results_max: z
      .int()
      .min(1)
      .max(resultsMax)
      .default(5)
      .describe(`At most this many results, 1 to ${resultsMax}. Default 5.`),
  }),
  // What it returns is the text of strangers. A call tells nobody anything, because the pages are here.
  effects: 'reads',
  reads: 'untrusted',
  idempotent: true,
  async run({ query, site, results_max }) {
    const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
    const pages = (await listed()).filter(({ url }) => site === undefined || new URL(url).host === site)
    const found = await Promise.all(
      pages.map(async ({ url, title, published, file }) => {
        const text = await read(file)
        const held = words.filter((word) => `${title}\n${text}`.toLowerCase().includes(word)).length
        const inTitle = words.filter((word) => title.toLowerCase().includes(word)).length
        return {
          score: held + inTitle,
          result: { title, url, published, snippet: text.replace(/\s+/g, ' ').slice(0, 200) },
        }
      }),
    )
    const best = Math.max(0, ...found.map(({ score }) => score))
    const ranked = found.filter(({ score }) => score > best / 2).toSorted((a, b) => b.score - a.score)
    return { query, results: ranked.slice(0, results_max).map(({ result }) => result) }
  },
})

export const webFetch = defineTool({
  name: 'web_fetch',
  description: 'Fetches one web page. Returns its URL, title, date and whole text as Markdown.',
  input: z.strictObject({ url: z.url().describe('As web_search gave it.') }),
  effects: 'reads',
  reads: 'untrusted',
  idempotent: true,
  async run({ url }) {
    const page = (await listed()).find((each) => each.url === url)
    if (page === undefined)
      throw new ToolFailure('not_found', `There is no page ${url}. Fetch URLs that web_search returned.`)
    return { url, title: page.title, published: page.published, text: await read(page.file) }
  },
})
