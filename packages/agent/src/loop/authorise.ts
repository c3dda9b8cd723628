// Decides whether a tool call may begin: at once, after a person's approval, or not at all. It judges exactly
// the arguments that are executed (`readCallArguments`). A call that must fail fails at once, and nobody is
// asked about it. A matching rule of the configuration decides; otherwise the stricter of the tool's own
// permission and what follows from what the run has read. Workflows need no permission: the calls of their
// agents are judged.
import { type DataOf, type DomainEvent, event, type ToolCall } from '@beaver/core'
import type { RunState, ToolFact } from '@beaver/core/fold'
import { egressGuard, type Guard, isUnlabelled, type Sink, stricter } from '@beaver/core/taint'
import { type Doer, whoDid } from '@beaver/core/task-view'
import type { Workflow } from '@beaver/workflows'
import { isHostOf } from '../hosts/host-pattern.ts'
import { defaultEgressRules, type EgressRules } from '../taint/egress-rules.ts'
import { sourceOf } from '../taint/result-labels.ts'
import { readsOf, sinkOf } from '../taint/tool-kind.ts'
import { readCallArguments } from '../tools/call-arguments.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { type PermissionDecision, permissionOf, type PermissionRule, subjectOf } from '../tools/permission.ts'
import type { CallPreview, Tool } from '../tools/tool.ts'
import { type Assembly, findIn } from './assembly.ts'
import type { LoopServices } from './loop-services.ts'
import type { LoopSpec } from './loop-spec.ts'
import { resultEvent } from './result-event.ts'

export type Authorisation =
  | { readonly kind: 'start'; readonly idempotent: boolean }
  | {
      readonly kind: 'ask'
      readonly subject: string
      readonly rule: string | null
      readonly reason?: string
      readonly callHash?: string
      readonly preview?: CallPreview | null
    }
  | { readonly kind: 'refuse'; readonly result: ToolResult }
  /** No tool has this name. The execution reports it. */
  | { readonly kind: 'unknown' }

export interface Authority {
  readonly tools: ReadonlyMap<string, Tool>
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly rules: readonly PermissionRule[]
  /** Who calls, and what it has read. */
  readonly caller: {
    readonly run: RunState
    readonly spec: Pick<LoopSpec, 'part' | 'history'>
    readonly egress: LoopServices['egress']
  }
}

/** What the calls of a run are judged by, as the run stands. */
export function authorityOf(
  run: RunState,
  { assembly, services, spec }: { assembly: Assembly; services: LoopServices; spec: LoopSpec },
): Authority {
  const { tools, workflows } = assembly
  return { tools, workflows, rules: services.permissions, caller: { run, spec, egress: services.egress } }
}

export function authorise(
  { name, arguments: text }: Pick<ToolCall, 'name' | 'arguments'>,
  authority: Authority,
): Authorisation {
  const { tools, workflows, rules, caller } = authority
  // A workflow call that is resumed finds the team that it started, so running it twice gives the same team.
  if (findIn(workflows, name) !== undefined) return { kind: 'start', idempotent: true }
  const tool = tools.get(name)
  if (tool === undefined) return { kind: 'unknown' }
  const start = { kind: 'start', idempotent: tool.idempotent } as const
  if (rules.length === 0 && (tool.permission ?? 'allow') === 'allow' && isUnlabelled(caller.run.taint))
    return start
  const args = readCallArguments(name, text)
  // Nothing is executed with these arguments: the call fails because of them.
  if (!args.ok) return start
  const permission = judged(tool, args.value, authority)
  switch (permission.decision) {
    case 'allow':
      return start
    case 'ask': {
      const fault = inputFaultOf(tool, args.value)
      if (fault !== null) return { kind: 'refuse', result: failedResult(name, 'invalid_arguments', fault) }
      return {
        kind: 'ask',
        subject: permission.subject,
        rule: permission.rule,
        ...(permission.reason === null ? {} : { reason: permission.reason }),
      }
    }
    case 'deny':
      return { kind: 'refuse', result: denied(name, permission) }
    default:
      return permission.decision satisfies never
  }
}

interface Judged extends PermissionDecision {
  /** What the run has read, if that matters for the call. */
  readonly reason: string | null
}

function judged(tool: Tool, args: unknown, { rules, tools, caller }: Authority): Judged {
  const permission = permissionOf(tool, args, rules)
  const egress = judgeEgress(tool, args, {
    run: caller.run,
    spec: caller.spec,
    tools,
    rules: caller.egress ?? defaultEgressRules,
  })
  const reason = egress?.reason ?? null
  const ruled = permission.rule !== null && permission.possible !== true
  if (egress === null || ruled) return { ...permission, reason }
  return { ...permission, reason, decision: stricter(permission.decision, egress.guard) }
}

/**
 * A schema that throws proves nothing: the person is asked, and then the call fails with what the schema
 * throws.
 */
function inputFaultOf(tool: Tool, args: unknown): string | null {
  try {
    return tool.inputFault?.(args) ?? null
  } catch {
    return null
  }
}

/** The events that record a call's authorisation, before anything of the call begins. */
export function authorisationEvents(
  runId: string,
  call: { readonly id: string; readonly name: string },
  authorisation: Authorisation,
): DomainEvent[] {
  const callFields = { call_id: call.id, tool_name: call.name }
  switch (authorisation.kind) {
    case 'start':
      return [event('tool_call_started', { ...callFields, idempotent: authorisation.idempotent }, runId)]
    case 'ask':
      return [
        event(
          'approval_requested',
          {
            ...callFields,
            subject: authorisation.subject,
            rule: authorisation.rule,
            ...(authorisation.reason === undefined ? {} : { reason: authorisation.reason }),
            ...shownOf(authorisation),
          },
          runId,
        ),
      ]
    case 'refuse':
      return [resultEvent(runId, call.id, authorisation.result, 0)]
    case 'unknown':
      return []
    default:
      return authorisation satisfies never
  }
}

function shownOf({
  callHash,
  preview,
}: Extract<Authorisation, { kind: 'ask' }>): Pick<DataOf<'approval_requested'>, 'call_hash' | 'preview'> {
  return {
    ...(callHash === undefined ? {} : { call_hash: callHash }),
    ...(preview === undefined || preview === null ? {} : { preview }),
  }
}

interface Denied {
  readonly name: string
  readonly denial: (Doer & { readonly reason: string }) | null
}

/** What the model reads if a person refused the call. */
export function approvalDenied({ name, denial }: Denied): ToolResult {
  const by = whoDid(denial ?? {})
  const reason = denial === null || denial.reason === '' ? 'no reason was given' : denial.reason
  return failedResult(
    name,
    'approval_denied',
    `${name} was not called: ${by} denied it (${reason.replace(/\.$/, '')}). Do not ask for the same again. Continue without it, or say what is missing.`,
  )
}

const shownCharsMax = 200

function denied(name: string, { subject, rule, reason }: Judged): ToolResult {
  const by = rule !== null ? `this rule forbids it: ${rule}` : (reason ?? 'the tool may not be called here')
  const on =
    subject === ''
      ? ''
      : ` on ${subject.length > shownCharsMax ? `${subject.slice(0, shownCharsMax)}…` : subject}`
  return failedResult(
    name,
    'permission_denied',
    `${name} was not called${on}: ${by}. Do not call it like this again. Do the work with the tools that you may use, or say what is missing.`,
  )
}

// Judges a call by what its run had read when the model gave the answer. The judgement never widens what a
// rule or the tool forbids; it only asks for more (permission.ts decides first). The same journal and
// configuration give the same judgement.

interface EgressJudgement {
  readonly guard: Exclude<Guard, 'allow'>
  /** For the person who is asked, and for the model. */
  readonly reason: string
}

interface Reader {
  readonly run: RunState
  readonly spec: Pick<LoopSpec, 'part' | 'history'>
  readonly tools: ReadonlyMap<string, Tool>
  readonly rules: EgressRules
}

/** A question or a pasted page may hold more than what somebody would type. */
const typedCharsMax = 2_000

/** Returns `null` if what the run has read does not matter for this call. */
function judgeEgress(tool: Tool, args: unknown, asked: Reader): EgressJudgement | null {
  const reader = { ...asked, run: withoutOwnText(tool, asked.run) }
  const { run, rules } = reader
  if (isUnlabelled(run.taint)) return null
  const sink = sinkOf(tool)
  if (sink === null) return null
  const guard = egressGuard(run.taint, sink, rules.policy)
  if (guard === 'allow') return null
  if (sink === 'fetch' && mayContact(tool, args, reader, guard)) return null
  return { guard, reason: reasonOf(tool, args, sink, reader) }
}

/** What a server says of its tools is no reason to ask about a call of one of them: nobody else gets it. */
function withoutOwnText({ describedBy }: Tool, run: RunState): RunState {
  const { untrusted } = run.taint
  return describedBy === undefined || !untrusted.includes(describedBy)
    ? run
    : { ...run, taint: { ...run.taint, untrusted: untrusted.filter((source) => source !== describedBy) } }
}

function mayContact(tool: Tool, args: unknown, { run, spec, tools, rules }: Reader, guard: Guard): boolean {
  const url = addressOf(tool, args)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (rules.hostsAllowed.some((host) => isHostOf(url, host))) return true
  // Where the operator forbids it, only the list of hosts counts.
  if (guard === 'deny') return false
  const trustedText = trustedTextOf(spec)
  const sources = { run, tools, trustedText }
  if (isKnownAddress(url, sources)) return true
  return (
    run.taint.public &&
    run.taint.secret.length === 0 &&
    trustedText.length <= typedCharsMax &&
    isChosenHost(url, sources)
  )
}

function addressOf(tool: Tool, args: unknown): URL | null {
  try {
    return readAddress(subjectOf(tool, args))
  } catch {
    return null
  }
}

function trustedTextOf({ part, history }: Reader['spec']): string {
  switch (part.kind) {
    case 'root':
      return [...history.flatMap(({ role, content }) => (role === 'user' ? [content] : [])), part.text].join(
        '\n',
      )
    case 'worker':
      return part.trustedText ?? ''
    case 'tool':
      return ''
    default:
      return part satisfies never
  }
}

const doing: Readonly<Record<Sink, string>> = {
  fetch: 'sends data out with the address',
  query: 'hands its arguments to a service',
  send: 'acts on the outside',
  memory: 'writes what later runs read',
  command: 'runs a program',
  files: 'writes files',
}

function reasonOf(tool: Tool, args: unknown, sink: Sink, { run, tools }: Reader): string {
  const named = (['untrusted', 'secret'] as const).flatMap((label) => {
    const [first, ...more] = run.taint[label]
    return first === undefined
      ? []
      : [`${first}${more.length === 0 ? '' : ` and ${more.length} more`} (${label})`]
  })
  // What has another label is seldom public either, so `private` is named only alone.
  const read = named.length > 0 ? named.join(' and ') : `${privateSource(run, tools)} (private)`
  return `this run has read ${read}, and ${tool.name} ${doing[sink]}${sink === 'fetch' ? howToAllow(tool, args) : ''}`
}

/** The first result of the run that is not public. What the run was given has no result. */
function privateSource({ facts, start }: RunState, tools: ReadonlyMap<string, Tool>): string {
  if (start.taint?.public === false)
    return 'what it was given: memory, a conversation, images or the work of other agents'
  const isPrivate = (fact: ToolFact): boolean => {
    const tool = tools.get(fact.tool)
    const args = readCallArguments(fact.tool, fact.arguments ?? '')
    return tool === undefined || !args.ok || !['web', 'public'].includes(readsOf(tool, args.value))
  }
  // A refused call has read nothing, so a success says it better.
  const first = facts.find((fact) => fact.success && isPrivate(fact)) ?? facts.find(isPrivate)
  if (first === undefined) return 'something'
  const tool = tools.get(first.tool)
  const args = readCallArguments(first.tool, first.arguments ?? '')
  return tool !== undefined && args.ok ? sourceOf(tool, args.value) : first.tool
}

/** For the person: why this address asks, and what would let every run contact its host. */
function howToAllow(tool: Tool, args: unknown): string {
  const url = addressOf(tool, args)
  if (url === null) return ''
  return `. Neither a person nor a search nor a page of ${url.host} named this address as a whole. To allow the host, add ${JSON.stringify(url.host)} to egress.hosts_allowed of the configuration`
}

// Addresses that a run may contact although it has read something private, because contacting them reveals
// nothing. An address counts only whole, as it was written before the run could add to it. Of a search, only
// the addresses of results count, because the model wrote the query. A run with nothing but public text may
// go anywhere, but not to a host that only a page named. A page may send a run on within its own host; this
// is bounded while the run holds private text, because the choice among many links could spell it out.

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
interface AddressSources {
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
function isKnownAddress(url: URL, sources: AddressSources): boolean {
  const wanted = spelled(url)
  if (addressesIn(sources.trustedText).some((each) => spelled(each) === wanted)) return true
  const web = sources.run.facts.flatMap((fact) => webFactOf(fact, sources.tools) ?? [])
  if (
    web.some(
      ({ kind, content }) =>
        kind === 'query' && foundBySearch(content).some((each) => spelled(each) === wanted),
    )
  )
    return true
  // Where a secret is, nobody but a person or a search names an address.
  if (sources.run.taint.secret.length > 0) return false
  const ofHost = web.filter(({ kind, host }) => kind === 'fetch' && host === url.host)
  if (!sources.run.taint.public && ofHost.length >= pagesOfHostMax) return false
  return ofHost.some(
    ({ success, content }) =>
      success && names(content, url) && addressesIn(content).some((each) => spelled(each) === wanted),
  )
}

/**
 * Whether the host is the run's own choice, or one that it has to do with already: a person named it, a
 * search found it, or the run read a page of it. A host that stands only in the text of a page is the choice
 * of the author of the page.
 */
function isChosenHost(url: URL, { run, tools, trustedText }: AddressSources): boolean {
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

function webFactOf(fact: ToolFact, tools: AddressSources['tools']): WebFact | null {
  const known = webFacts.get(fact)
  if (known !== undefined) return known
  const read = readWebFact(fact, tools)
  webFacts.set(fact, read)
  return read
}

function readWebFact(
  { tool: name, success, result = '', arguments: text = '' }: ToolFact,
  tools: AddressSources['tools'],
): WebFact | null {
  const tool = tools.get(name)
  if (tool === undefined) return null
  const sink = sinkOf(tool)
  if (sink !== 'query' && sink !== 'fetch') return null
  const args = readCallArguments(name, text)
  if (!args.ok || ['own', 'public'].includes(readsOf(tool, args.value))) return null
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
