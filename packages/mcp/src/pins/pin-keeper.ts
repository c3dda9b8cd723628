// PinKeeper: compares the lists of servers with the pins, one at a time, and keeps the pins on disk.
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, messageOf, systemClock } from '@beaver/core'
import { whileLocked } from '@beaver/platform'
import { z } from 'zod'
import type { ListedTool } from '../client/list-tools.ts'
import { checkPins, isNew, type Pin, pin } from './pin.ts'

/**
 * `withheld`: no tool may be offered, because the pins cannot be read or stored. `ok`: only `changed` tools
 * are withheld; `appeared` are the new ones among them. A person
 * approved what the `approved` ones say.
 */
export type Pinned =
  | {
      readonly kind: 'ok'
      readonly pinned: number
      readonly changed: ReadonlySet<string>
      readonly appeared: ReadonlySet<string>
      readonly approved: ReadonlySet<string>
    }
  | { readonly kind: 'withheld'; readonly message: string }

export interface PinKeeper {
  /** Pins what it sees first. Never rejects. @param named the tools that the configuration names */
  check(server: string, tools: readonly ListedTool[], named?: readonly string[]): Promise<Pinned>
  /** Resolves when the current check is over. Nothing is written after that. Never rejects. */
  close(): Promise<void>
}

const ended: Pinned = { kind: 'withheld', message: 'The connections to MCP servers are closed.' }

export function pinKeeper(file: string, clock: Clock): PinKeeper {
  let before: Promise<void> = Promise.resolve()
  let closed = false
  async function check(
    server: string,
    tools: readonly ListedTool[],
    named: readonly string[] | undefined,
  ): Promise<Pinned> {
    let changed: ReadonlySet<string> = new Set()
    let appeared: ReadonlySet<string> = new Set()
    let approved: ReadonlySet<string> = new Set()
    const read = await changePins(
      file,
      (pins) => {
        const checked = checkPins(pins, server, tools, { now: new Date(clock.now()).toISOString(), named })
        changed = checked.changed
        appeared = checked.appeared
        approved = checked.approved
        return checked.pins
      },
      clock,
    )
    if (read.kind === 'unusable') return { kind: 'withheld', message: read.message }
    return {
      kind: 'ok',
      pinned: read.pins.filter((each) => each.server === server && !isNew(each)).length,
      changed,
      appeared,
      approved,
    }
  }
  return {
    check(server, tools, named) {
      const checking = before.then(() => (closed ? ended : check(server, tools, named)))
      before = checking.then(
        () => {},
        () => {},
      )
      return checking
    },
    close() {
      closed = true
      return before
    },
  }
}

// The pins are one JSON file, replaced as a whole. An unreadable file is reported and never overwritten. A
// lock file keeps the daemon and the command line apart.

export type PinsRead =
  | { readonly kind: 'ok'; readonly pins: readonly Pin[] }
  | { readonly kind: 'unusable'; readonly message: string }

const content = z.strictObject({ version: z.literal(1), pins: z.array(pin).max(100_000) })
const fileBytesMax = 64 * 1024 * 1024

export function mcpPinsFile(home: string): string {
  return join(home, 'mcp-pins.json')
}

/** A missing file holds no pins. */
export async function readPins(file: string): Promise<PinsRead> {
  try {
    if ((await stat(file)).size > fileBytesMax) return unusable(file, 'it is too large')
    const read = content.safeParse(JSON.parse(await readFile(file, 'utf8')))
    return read.success
      ? { kind: 'ok', pins: read.data.pins }
      : unusable(file, z.prettifyError(read.error).replaceAll('\n', ' '))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'ok', pins: [] }
    return unusable(file, messageOf(error))
  }
}

/**
 * Lets `change` decide about the pins and writes the result, while no other program does the same.
 *
 * @param change returns the pins to write, or `null` to leave them as they are
 */
export async function changePins(
  file: string,
  change: (pins: readonly Pin[]) => readonly Pin[] | null,
  clock: Clock = systemClock,
): Promise<PinsRead> {
  try {
    const changed = async (): Promise<PinsRead> => {
      const read = await readPins(file)
      if (read.kind === 'unusable') return read
      const pins = change(read.pins)
      if (pins === null) return read
      const next = `${file}.next`
      await writeFile(next, `${JSON.stringify({ version: 1, pins }, null, 1)}\n`, {
        mode: 0o600,
        flush: true,
      })
      await rename(next, file)
      return { kind: 'ok', pins }
    }
    return await whileLocked(file, changed, { clock })
  } catch (error) {
    return {
      kind: 'unusable',
      message: `The pins of MCP tools cannot be stored in ${file}: ${messageOf(error)}`,
    }
  }
}

function unusable(file: string, why: string): PinsRead {
  return {
    kind: 'unusable',
    message: `The pins of MCP tools in ${file} cannot be read (${why}). Put a good copy there, or move the file away, so that Beaver pins what the servers say now.`,
  }
}
