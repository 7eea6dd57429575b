import { crashPresets } from './preset-crashes.ts'

crashPresets('reviewed', 'gated')
