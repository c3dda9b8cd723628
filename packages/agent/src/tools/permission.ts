// Permissions of tool calls: allowed, asked for, denied (decisions.md D-19). Pure.
// P1. The first rule that matches decides; without one the tool's own permission does. P2. A rule that cannot be evaluated denies.
import type { Tool } from './tool.ts'

export type Permission = 'allow' | 'ask' | 'deny'

export interface PermissionRule {
  /** A tool's name; `*` stands for any characters. */
  readonly tool: string
  /** What the call would act on (`Tool.subject`); `*` for any characters. Absent: every call. */
  readonly pattern?: string | undefined
  readonly decision: Permission
}

export interface PermissionDecision {
  readonly decision: Permission
  /** What the call would act on, for the person who decides. */
  readonly subject: string
  /** The rule that decided, as text; `null`: the tool's own permission. */
  readonly rule: string | null
}

/** @param args the arguments as parsed, before the tool's schema saw them */
export function permissionOf(tool: Tool, args: unknown, rules: readonly PermissionRule[]): PermissionDecision {
  const subject = subjectOf(tool, args)
  const rule = rules.find((each) => matches(each.tool, tool.name) && (each.pattern === undefined || matches(each.pattern, subject)))
  if (rule === undefined) return { decision: tool.permission ?? 'allow', subject, rule: null }
  return { decision: rule.decision, subject, rule: `${rule.decision} ${rule.tool}${rule.pattern === undefined ? '' : ` ${rule.pattern}`}` }
}

function subjectOf(tool: Tool, args: unknown): string {
  return tool.subject?.(args) ?? JSON.stringify(args) ?? ''
}

function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`, 'u').test(text)
}
