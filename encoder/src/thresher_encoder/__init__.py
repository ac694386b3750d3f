"""The weights of Thresher's encoder, as files: `model.onnx` and `tokenizer.json`. Nothing here is imported."""
