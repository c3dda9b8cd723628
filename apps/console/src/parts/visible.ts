// What a person reads of a foreign text: line breaks and tabs as they are, other hidden characters as escapes.
import { visible as escaped } from '@beaver/core'

export const visible = (text: string): string => escaped(text.replaceAll('\r\n', '\n'), '\n\t')
