// Addresses that a run may contact although it has read a stranger's text: contacting them tells nobody
// anything about what the run knows. An address counts only as a whole, as it was written before the run
// could add anything to it. A query that the model composed is not known. Search results count by their
// addresses alone. The query is part of the answer of a search, and the model wrote the query. A run that
// holds nothing but public text may go where it likes, but not to a host that only a page named: a page does
// not choose where a run goes. A page may send a run on to other pages of its own host. While the run holds
// private text this is bounded, because the choice among many links could spell it out.
import type { RunState, ToolFact } from '@beaver/core'
import { readCallArguments } from '../tools/call-arguments.ts'
import type { Tool } from '../tools/tool.ts'
import { readsOf, sinkOf } from './tool-kind.ts'

/** How many pages of one host a run with private text follows without a question. */
const pagesOfHostMax = 10
const addressCharsMax = 4_096
/**
 * Each repetition is bounded, because strangers write the texts: the time of a search grows with the length
 * of a text and not with its square.
 */
const addressPattern =
  /\b(?:https?:\/\/|www\.)[^\s"'<>`\\^{}|]{1,4096}|\b(?:[a-z0-9][a-z0-9-]{0,62}\.){1,8}[a-z]{2,24}(?:\/[^\s"'<>`\\^{}|]{0,4096})?/giu
const closing = new Set(".,;:!?)]*_'’”")

/** What a run may be told an address by. */
export interface Told {
  readonly run: RunState
  readonly tools: ReadonlyMap<string, Tool>
  /** The words of people, and of agents that had read nothing but those. */
  readonly trustedText: string
}

/** One spelling for an address. `null` if the text is none that a tool could contact. */
export function readAddress(text: string): URL | null {
  if (text.length > addressCharsMax) return null
  const url = URL.parse(
    /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^[\w.-]+:\d/.test(text) ? text : `https://${text}`,
  )
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null
  url.hostname = url.hostname.replace(/\.+$/, '')
  url.hash = ''
  return url
}

/** `http` and `https` lead to the same host, which learns the same. */
const spelled = (url: URL): string =>
  `${url.username}:${url.password}@${url.host}${url.pathname === '/' ? '' : url.pathname}${url.search}`

/** Whether the address is known as a whole, from a person, a search, or a page of the same host. */
export function isKnownAddress(url: URL, told: Told): boolean {
  const wanted = spelled(url)
  if (addressesIn(told.trustedText).some((each) => spelled(each) === wanted)) return true
  const web = told.run.facts.flatMap((fact) => webFactOf(fact, told.tools) ?? [])
  if (
    web.some(
      ({ kind, content }) =>
        kind === 'query' && foundBySearch(content).some((each) => spelled(each) === wanted),
    )
  )
    return true
  // Where a secret is, nobody but a person or a search names an address.
  if (told.run.taint.secret.length > 0) return false
  const ofHost = web.filter(({ kind, host }) => kind === 'fetch' && host === url.host)
  if (!told.run.taint.public && ofHost.length >= pagesOfHostMax) return false
  return ofHost.some(
    ({ success, content }) =>
      success && names(content, url) && addressesIn(content).some((each) => spelled(each) === wanted),
  )
}

/**
 * Whether the host is the run's own choice, or one that it has to do with already: a person named it, a
 * search found it, or the run read a page of it. A host that stands only in the text of a page is the choice
 * of whoever wrote the page.
 */
export function isChosenHost(url: URL, { run, tools, trustedText }: Told): boolean {
  const hosts = (urls: readonly URL[]): boolean => urls.some(({ host }) => host === url.host)
  if (hosts(addressesIn(trustedText))) return true
  const web = run.facts.flatMap((fact) => webFactOf(fact, tools) ?? [])
  if (
    web.some(({ kind, host, success, content }) =>
      kind === 'fetch' ? success && host === url.host : hosts(foundBySearch(content)),
    )
  )
    return true
  return !run.facts.some(({ result = '' }) => names(result, url) && hosts(addressesIn(result)))
}

/** A quick look, before the addresses of a long text are read. */
const names = (text: string, { hostname }: URL): boolean => text.toLowerCase().includes(hostname)

interface WebFact {
  readonly kind: 'query' | 'fetch'
  readonly success: boolean
  readonly host: string
  readonly content: string
}

/** Facts never change, so each is read once. */
const webFacts = new WeakMap<ToolFact, WebFact | null>()

function webFactOf(fact: ToolFact, tools: Told['tools']): WebFact | null {
  const known = webFacts.get(fact)
  if (known !== undefined) return known
  const read = readWebFact(fact, tools)
  webFacts.set(fact, read)
  return read
}

function readWebFact(
  { tool: name, success, result = '', arguments: text = '' }: ToolFact,
  tools: Told['tools'],
): WebFact | null {
  const tool = tools.get(name)
  if (tool === undefined) return null
  const sink = sinkOf(tool)
  if (sink !== 'query' && sink !== 'fetch') return null
  const args = readCallArguments(name, text)
  if (!args.ok || readsOf(tool, args.value) === 'own') return null
  if (sink === 'query')
    return success && readsOf(tool, args.value) === 'web'
      ? { kind: sink, success, host: '', content: result }
      : null
  const asked = readAddress(tool.subject?.(args.value) ?? '')
  return { kind: sink, success, host: finalHost(result) ?? asked?.host ?? '', content: result }
}

/** The host that answered, after redirects, if the tool says it. */
function finalHost(content: string): string | null {
  const page = parsed(content)
  return isObject(page) && typeof page['url'] === 'string' ? (readAddress(page['url'])?.host ?? null) : null
}

function foundBySearch(content: string): URL[] {
  const answer = parsed(content)
  const results = isObject(answer) && Array.isArray(answer['results']) ? (answer['results'] as unknown[]) : []
  return results.flatMap((each) =>
    isObject(each) && typeof each['url'] === 'string' ? (readAddress(each['url']) ?? []) : [],
  )
}

export function addressesIn(text: string): URL[] {
  return [...text.matchAll(addressPattern)].flatMap(([found]) => {
    // The end of a sentence or of a bracket does not belong to the address. Both readings count.
    let end = found.length
    while (closing.has(found.charAt(end - 1))) end--
    const bare = found.slice(0, end)
    return [readAddress(found), bare === found ? null : readAddress(bare)].filter((each) => each !== null)
  })
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
