// What a person does who has a gateway and no tokens.
import { commandName } from '../command-name.ts'

export const tokenAdvice = (): string => `Make one: ${commandName()} token create <name> --role submit --role read`
