import { crashPresets } from './preset-crashes.ts'

crashPresets('stepwise', 'pipeline')
