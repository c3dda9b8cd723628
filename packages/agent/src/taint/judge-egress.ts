// Judges a call by what its run has read: whether the call may begin by itself, asks a person, or is refused.
// Pure. The same journal and the same configuration give the same judgement, so a resumed run is judged like
// the first one. The judgement never widens what a rule or the tool itself forbids. It only asks for more
// (permission.ts decides first). Calls of one answer are judged by what the run had read when the model gave
// the answer.
import { egressGuard, type Guard, isUnlabelled, type RunState, type Sink } from '@beaver/core'
import { isHostOf } from '../hosts/host-pattern.ts'
import type { LoopSpec } from '../loop/loop-spec.ts'
import { subjectOf } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'
import type { EgressRules } from './egress-rules.ts'
import { isChosenHost, isKnownAddress, readAddress } from './known-addresses.ts'
import { sinkOf } from './tool-kind.ts'

export interface EgressJudgement {
  readonly guard: Exclude<Guard, 'allow'>
  /** For the person who is asked, and for the model. */
  readonly reason: string
}

export interface Reader {
  readonly run: RunState
  readonly spec: Pick<LoopSpec, 'part' | 'history'>
  readonly tools: ReadonlyMap<string, Tool>
  readonly rules: EgressRules
}

/** A question or a pasted page may hold more than what somebody would type. */
const typedCharsMax = 2_000

/** Returns `null` if what the run has read does not matter for this call. */
export function judgeEgress(tool: Tool, args: unknown, reader: Reader): EgressJudgement | null {
  const { run, rules } = reader
  if (isUnlabelled(run.taint)) return null
  const sink = sinkOf(tool)
  if (sink === null) return null
  const guard = egressGuard(run.taint, sink, rules.policy)
  if (guard === 'allow') return null
  if (sink === 'fetch' && mayContact(tool, args, reader, guard)) return null
  return { guard, reason: reasonOf(tool.name, sink, run) }
}

function mayContact(tool: Tool, args: unknown, { run, spec, tools, rules }: Reader, guard: Guard): boolean {
  const url = addressOf(tool, args)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (rules.hostsAllowed.some((host) => isHostOf(url, host))) return true
  // Where the operator forbids it, only the list of hosts counts.
  if (guard === 'deny') return false
  const trustedText = trustedTextOf(spec)
  const told = { run, tools, trustedText }
  if (isKnownAddress(url, told)) return true
  return (
    run.taint.public &&
    run.taint.secret.length === 0 &&
    trustedText.length <= typedCharsMax &&
    isChosenHost(url, told)
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

function reasonOf(tool: string, sink: Sink, { taint }: RunState): string {
  const read = (['untrusted', 'secret'] as const).flatMap((label) => {
    const [first, ...more] = taint[label]
    return first === undefined
      ? []
      : [`${first}${more.length === 0 ? '' : ` and ${more.length} more`} (${label})`]
  })
  return `this run has read ${read.join(' and ')}, and ${tool} ${doing[sink]}`
}
