// PinKeeper: compares the lists of servers with the pins, for one daemon. Checks of several servers run one after the other.
import type { Clock } from '@beaver/core'
import type { ListedTool } from '../client/list-tools.ts'
import { checkPins } from './pin.ts'
import { changePins } from './pin-file.ts'

/** `withheld`: no tool may be offered, because the pins cannot be read or stored. `ok`: only changed tools are withheld. */
export type Pinned =
  | { readonly kind: 'ok'; readonly pinned: number; readonly changed: ReadonlySet<string> }
  | { readonly kind: 'withheld'; readonly message: string }

export interface PinKeeper {
  /** Pins new tools. It never rejects. */
  check(server: string, tools: readonly ListedTool[]): Promise<Pinned>
}

export function pinKeeper(file: string, clock: Clock): PinKeeper {
  let before: Promise<unknown> = Promise.resolve()
  async function check(server: string, tools: readonly ListedTool[]): Promise<Pinned> {
    let changed: ReadonlySet<string> = new Set()
    const read = await changePins(
      file,
      (pins) => {
        const checked = checkPins(pins, server, tools, new Date(clock.now()).toISOString())
        changed = checked.changed
        return checked.pins
      },
      clock,
    )
    if (read.kind === 'unusable') return { kind: 'withheld', message: read.message }
    return { kind: 'ok', pinned: read.pins.filter((each) => each.server === server).length, changed }
  }
  return {
    check(server, tools) {
      const checking = before.then(() => check(server, tools))
      before = checking.catch(() => {})
      return checking
    },
  }
}
