// Decides how much of other nodes' outputs a run's message keeps: at most `charsMax` characters together.
// Short outputs stay whole; the longest are cut to the same length, unless a cut would not make them shorter.
import { fairShare } from './fair-share.ts'
import { frameMark, framedOutputs, isShorterCut, type OutputCut, type RunState } from '@beaver/core/fold'

/** The default of `team.outputs_chars_max`: about 100,000 tokens of English text. */
export const outputsCharsMaxDefault = 400_000

/** A message whose outputs have fewer characters than this is not made shorter. */
const cutCharsMin = 2_000
/** Each measure against an overflow keeps one part in this many. */
const keptPart = 4

/** The cuts of a message. Empty: its outputs are within the bound. */
export function outputCuts(message: string, mark: string, charsMax: number): readonly OutputCut[] {
  // A message that is short enough as a whole is not searched for its outputs.
  if (message.length <= charsMax) return []
  const outputs = framedOutputs(message, mark)
  const share = fairShare(outputs.map(({ chars }) => chars), charsMax) // prettier-ignore
  return outputs.flatMap((output) =>
    output.chars > share && isShorterCut(output.chars, share) ? [{ ...output, kept_chars: share }] : [],
  )
}

/** The characters of the outputs in the message with which the run began. */
export const outputChars = (run: RunState): number =>
  framedOutputs(run.messages[run.historyIndex]?.content ?? '', frameMark(run.start.run_id)).reduce(
    (sum, { chars }) => sum + chars,
    0,
  )

/**
 * Cuts of the outputs to a part of what they are. `null` if they are short, or if nothing would become
 * shorter.
 */
export function overflowCuts(run: RunState): readonly OutputCut[] | null {
  const chars = outputChars(run)
  if (chars < cutCharsMin) return null
  const cuts = outputCuts(
    run.messages[run.historyIndex]?.content ?? '',
    frameMark(run.start.run_id),
    Math.floor(chars / keptPart),
  )
  return cuts.length === 0 ? null : cuts
}
