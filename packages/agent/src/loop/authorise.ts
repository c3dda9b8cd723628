// Decides whether a tool call may begin: at once, after a person's approval, or not at all. Pure.
// P1. What is judged is what is executed: both get the arguments that `readCallArguments` gives. A call with arguments that must fail
// fails at once, and no person is asked about a call that cannot run.
// P2. Workflows need no permission: they start agents, whose own calls are judged.
import { type DomainEvent, event, type OpenCall, type ToolCall } from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { readCallArguments } from '../tools/call-arguments.ts'
import { failedResult, type ToolResult } from '../tools/execute-tool.ts'
import { type PermissionDecision, permissionOf, type PermissionRule } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'
import { findIn } from './assembly.ts'
import { resultEvent } from './result-event.ts'

export type Authorisation =
  | { readonly kind: 'start'; readonly idempotent: boolean }
  | { readonly kind: 'ask'; readonly subject: string; readonly rule: string | null }
  | { readonly kind: 'refuse'; readonly result: ToolResult }
  /** No tool has this name. The execution reports it. */
  | { readonly kind: 'unknown' }

export interface Authority {
  readonly tools: ReadonlyMap<string, Tool>
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly rules: readonly PermissionRule[]
}

export function authorise({ name, arguments: text }: Pick<ToolCall, 'name' | 'arguments'>, { tools, workflows, rules }: Authority): Authorisation {
  // A workflow call that is resumed finds the team that it started, so running it twice gives the same team.
  if (findIn(workflows, name) !== undefined) return { kind: 'start', idempotent: true }
  const tool = tools.get(name)
  if (tool === undefined) return { kind: 'unknown' }
  const start = { kind: 'start', idempotent: tool.idempotent } as const
  if (rules.length === 0 && (tool.permission ?? 'allow') === 'allow') return start
  const args = readCallArguments(name, text)
  // Nothing is executed with these arguments: the call fails because of them.
  if (!args.ok) return start
  const permission = permissionOf(tool, args.value, rules)
  switch (permission.decision) {
    case 'allow':
      return start
    case 'ask': {
      const fault = inputFaultOf(tool, args.value)
      if (fault !== null) return { kind: 'refuse', result: failedResult(name, 'invalid_arguments', fault) }
      return { kind: 'ask', subject: permission.subject, rule: permission.rule }
    }
    case 'deny':
      return { kind: 'refuse', result: denied(name, permission) }
    default:
      return permission.decision satisfies never
  }
}

/** A schema that throws proves nothing: the person is asked, and then the call fails with what the schema throws. */
function inputFaultOf(tool: Tool, args: unknown): string | null {
  try {
    return tool.inputFault?.(args) ?? null
  } catch {
    return null
  }
}

/** The events that record a call's authorisation, before anything of the call begins. */
export function authorisationEvents(runId: string, call: { readonly id: string; readonly name: string }, given: Authorisation): DomainEvent[] {
  const of = { call_id: call.id, tool_name: call.name }
  switch (given.kind) {
    case 'start':
      return [event('tool_call_started', { ...of, idempotent: given.idempotent }, runId)]
    case 'ask':
      return [event('approval_requested', { ...of, subject: given.subject, rule: given.rule }, runId)]
    case 'refuse':
      return [resultEvent(runId, call.id, given.result, 0)]
    case 'unknown':
      return []
    default:
      return given satisfies never
  }
}

/** What the model reads if a person refused the call. */
export function approvalDenied({ name, denial }: OpenCall): ToolResult {
  const by = denial?.by ?? 'somebody'
  const reason = denial === null || denial.reason === '' ? 'no reason was given' : denial.reason
  return failedResult(
    name,
    'approval_denied',
    `${name} was not called: ${by} denied it (${reason.replace(/\.$/, '')}). Do not ask for the same again. Continue without it, or say what is missing.`,
  )
}

const shownCharsMax = 200

function denied(name: string, { subject, rule }: PermissionDecision): ToolResult {
  const by = rule === null ? 'the tool may not be called here' : `this rule forbids it: ${rule}`
  const on = subject === '' ? '' : ` on ${subject.length > shownCharsMax ? `${subject.slice(0, shownCharsMax)}…` : subject}`
  return failedResult(
    name,
    'permission_denied',
    `${name} was not called${on}: ${by}. Do not call it like this again. Do the work with the tools that you may use, or say what is missing.`,
  )
}
