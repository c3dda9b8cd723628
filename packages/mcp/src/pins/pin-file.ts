// The pins on disk: one JSON file in Beaver's home. It is replaced as a whole or not at all. A file that
// cannot be read is reported and never overwritten. The daemon and the command line change it one after the
// other, by a lock file.
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, messageOf, systemClock } from '@beaver/core'
import { whileLocked } from '@beaver/platform'
import { z } from 'zod'
import { type Pin, pin } from './pin.ts'

export type PinsRead =
  | { readonly kind: 'ok'; readonly pins: readonly Pin[] }
  | { readonly kind: 'unusable'; readonly message: string }

const content = z.strictObject({ version: z.literal(1), pins: z.array(pin).max(100_000) })
const fileBytesMax = 64 * 1024 * 1024

/** The file with the pins of a home. */
export function mcpPinsFile(home: string): string {
  return join(home, 'mcp-pins.json')
}

/** A file that does not exist holds no pins. */
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
 * Reads the pins, lets `change` decide, and writes the result, while no other program does the same.
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
