fate-quality:
