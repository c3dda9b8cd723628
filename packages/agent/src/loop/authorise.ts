// Decides whether a tool call may begin: at once, after a person's approval, or not at all. Pure. What is
// judged is what is executed: both get the arguments that `readCallArguments` gives. A call with arguments
// that must fail fails at once, and no person is asked about a call that cannot run. A rule of the
// configuration that matches decides. Otherwise the stricter of two decides: the tool's own permission, and
// what follows from what the run has read (judge-egress.ts). Workflows need no permission: they start agents,
// whose own calls are judged.
import {
  type DataOf,
  type Doer,
  type DomainEvent,
  event,
  isUnlabelled,
  type RunState,
  stricter,
  type ToolCall,
  whoDid,
} from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { defaultEgressRules } from '../taint/egress-rules.ts'
import { judgeEgress } from '../taint/judge-egress.ts'
import { readCallArguments } from '../tools/call-arguments.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { type PermissionDecision, permissionOf, type PermissionRule } from '../tools/permission.ts'
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
  if (egress === null || permission.rule !== null) return { ...permission, reason }
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
  given: Authorisation,
): DomainEvent[] {
  const of = { call_id: call.id, tool_name: call.name }
  switch (given.kind) {
    case 'start':
      return [event('tool_call_started', { ...of, idempotent: given.idempotent }, runId)]
    case 'ask':
      return [
        event(
          'approval_requested',
          {
            ...of,
            subject: given.subject,
            rule: given.rule,
            ...(given.reason === undefined ? {} : { reason: given.reason }),
            ...shownOf(given),
          },
          runId,
        ),
      ]
    case 'refuse':
      return [resultEvent(runId, call.id, given.result, 0)]
    case 'unknown':
      return []
    default:
      return given satisfies never
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
