// Warnings of a model, told once each.
import type { SharedV4Warning } from '@ai-sdk/provider'

export type TellWarning = (warnings: readonly SharedV4Warning[] | undefined) => void

/** Models may make a new warning for each call. */
const toldMax = 100

/** @param who the model, in words @param tell default: `process.emitWarning` */
export function warningTeller(
  who: string,
  tell: (message: string) => void = (message) => process.emitWarning(message, 'BeaverAiSdk'),
): TellWarning {
  const told = new Set<string>()
  return (warnings = []) => {
    for (const warning of warnings) {
      const text = textOf(warning)
      if (told.has(text) || told.size >= toldMax) continue
      told.add(text)
      tell(`The model ${who} says: ${text}`)
    }
  }
}

function textOf(warning: SharedV4Warning): string {
  switch (warning.type) {
    case 'unsupported':
      return `${warning.feature} is not supported.${more(warning.details)}`
    case 'compatibility':
      return `${warning.feature} is only imitated.${more(warning.details)}`
    case 'deprecated':
      return `${warning.setting} is deprecated. ${warning.message}`
    default:
      return warning.message
  }
}

const more = (details: string | undefined): string => (details === undefined ? '' : ` ${details}`)
