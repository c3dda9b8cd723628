// Pins: what the tools of an MCP server said about themselves when first seen. The tools of a server's first
// list are pinned, and each tool that the configuration names. A tool that differs from its pin, or appears
// later, is not offered until a person approves it; only `approvePins` replaces a pin. What a person approved
// is not a stranger's text any more. Pure; pin-keeper.ts has the file.
import { z } from 'zod'

const change = z.strictObject({ hash: z.string(), definition: z.string(), seen_at: z.string() })

export const pin = z.strictObject({
  server: z.string(),
  tool: z.string(),
  /** SHA-256 of the canonical JSON of the definition. Empty until a person approves a new tool. */
  hash: z.string(),
  /** The hashed text, cut to a bound, for people. */
  definition: z.string(),
  pinned_at: z.string(),
  /** When a person approved what the tool says. Absent: nobody did, and it was pinned at first sight. */
  approved_at: z.string().optional(),
  /** What the tool says now, if that differs. */
  changed: change.optional(),
})
export type Pin = z.infer<typeof pin>

/** Whether the tool appeared after its server was first seen, and nobody has approved it yet. */
export const isNew = ({ hash }: Pin): boolean => hash === ''

interface Seen {
  readonly name: string
  readonly hash: string
  readonly definition: string
}

export interface PinCheck {
  /** `null` if the pins did not change. */
  readonly pins: readonly Pin[] | null
  /** The tools that wait for an approval. */
  readonly changed: ReadonlySet<string>
  /** The new ones among them. */
  readonly appeared: ReadonlySet<string>
  /** The tools that say what a person approved. */
  readonly approved: ReadonlySet<string>
}

/** @param options `now`: ISO 8601; `named`: the tools that the configuration names */
export function checkPins(
  pins: readonly Pin[],
  server: string,
  tools: readonly Seen[],
  { now, named = [] }: { readonly now: string; readonly named?: readonly string[] | undefined },
): PinCheck {
  const byTool = new Map(pins.filter((each) => each.server === server).map((each) => [each.tool, each]))
  const next = new Map<string, Pin>()
  const changed = new Set<string>()
  const appeared = new Set<string>()
  const approved = new Set<string>()
  const isFirstList = byTool.size === 0
  for (const { name, hash, definition } of tools) {
    const known = byTool.get(name)
    if (known === undefined && (isFirstList || named.includes(name)))
      next.set(name, { server, tool: name, hash, definition, pinned_at: now })
    else if (known === undefined) {
      appeared.add(name)
      changed.add(name)
      next.set(name, {
        server,
        tool: name,
        hash: '',
        definition: '',
        pinned_at: '',
        changed: { hash, definition, seen_at: now },
      })
    } else if (known.hash === hash) {
      if (known.approved_at !== undefined) approved.add(name)
      const { changed: gone, ...settled } = known
      if (gone !== undefined) next.set(name, settled)
    } else {
      changed.add(name)
      if (isNew(known)) appeared.add(name)
      if (known.changed?.hash !== hash)
        next.set(name, { ...known, changed: { hash, definition, seen_at: now } })
    }
  }
  if (next.size === 0) return { pins: null, changed, appeared, approved }
  const replaced = pins.map((each) => (each.server === server ? (next.get(each.tool) ?? each) : each))
  const added = [...next.values()].filter((each) => !byTool.has(each.tool))
  return { pins: [...replaced, ...added], changed, appeared, approved }
}

/**
 * Approves and pins what a tool says now. @param tool `null`: all tools of the server that nobody approved as
 * they are
 */
export function approvePins(
  pins: readonly Pin[],
  server: string,
  tool: string | null,
  now: string,
): { pins: readonly Pin[]; approved: readonly string[] } {
  const approved: string[] = []
  const next = pins.map((each) => {
    if (each.server !== server || (tool !== null && each.tool !== tool)) return each
    if (each.changed === undefined && each.approved_at !== undefined) return each
    approved.push(each.tool)
    const { changed, ...known } = each
    if (changed === undefined) return { ...known, approved_at: now }
    const { hash, definition } = changed
    return { server, tool: each.tool, hash, definition, pinned_at: now, approved_at: now }
  })
  return { pins: next, approved }
}
