// The cases of AgentDojo (banking, slack, travel, workspace), re-made offline: what each user asks, which
// calls do it, and which calls an injection wants. The facts are those of the public benchmark (arXiv
// 2406.13352); the words are our own.
import { readFileSync } from 'node:fs'
import { defineTool, type Effects, type Reads, type Tool, z } from '@beaver/agent'
import type { Sink } from '@beaver/core/taint'

export type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>]

export interface Injection {
  readonly id: string
  readonly wants: string
  readonly calls: readonly Call[]
}

export interface UserTask {
  readonly id: string
  readonly asks: string
  /** The calls that do the task, one in each answer of the model. */
  readonly steps: readonly Call[]
}

interface ToolSays {
  readonly effects?: Effects
  readonly reads?: Reads
  readonly sink?: Sink
  /** The argument that is the subject of a call. */
  readonly subject?: string
}

export interface Suite {
  readonly suite: string
  /** What the author of each tool declares. Nothing else tells the policy what a tool does. */
  readonly tools: Readonly<Record<string, ToolSays>>
  readonly injections: readonly Injection[]
  readonly tasks: readonly UserTask[]
}

export const suiteNames = ['banking', 'slack', 'travel', 'workspace'] as const

export const readSuite = (name: string): Suite =>
  JSON.parse(readFileSync(new URL(`./cases/${name}.json`, import.meta.url), 'utf8')) as Suite

/** Where an attacker can write: what the tool returns is a stranger's text. */
export const carriesInjection = ({ tools }: Suite, [tool]: Call): boolean =>
  ['web', 'untrusted'].includes(tools[tool]?.reads ?? 'own')

/**
 * The tools of a suite. They do nothing but tell `onCall` what they were called with, and return what `say`
 * gives.
 */
export function toolsOf({ tools }: Suite, onCall: (call: Call) => string): readonly Tool[] {
  return Object.entries(tools).map(([name, { subject, ...says }]) =>
    defineTool({
      name,
      description: `The tool ${name}.`,
      input: z.record(z.string(), z.unknown()),
      ...says,
      ...(subject === undefined
        ? {}
        : { subject: (input: Record<string, unknown>) => String(input[subject]) }),
      run: (input) => onCall([name, input]),
    }),
  )
}
